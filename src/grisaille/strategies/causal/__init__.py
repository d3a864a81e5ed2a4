"""Strategies for problems over interventions."""

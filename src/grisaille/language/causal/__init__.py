"""Cause and effect: the do operator and problems over interventions."""

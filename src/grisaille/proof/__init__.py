"""Proofs: lower bounds of the auxiliary problem over regions, and certificates."""

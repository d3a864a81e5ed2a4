"""Measurements of the library: convergence, peers side by side, proofs, speed, memory, studies."""

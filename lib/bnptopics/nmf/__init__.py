"""Probabilistic latent semantic indexing and its twin, non-negative matrix factorisation by KL divergence."""

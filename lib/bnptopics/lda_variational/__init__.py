"""Coordinate-ascent variational inference for latent Dirichlet allocation."""

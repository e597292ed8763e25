"""Collapsed Gibbs sampling for latent Dirichlet allocation (Griffiths and Steyvers 2004)."""

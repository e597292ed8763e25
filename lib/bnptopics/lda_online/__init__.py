"""Online (stochastic) variational inference for latent Dirichlet allocation."""

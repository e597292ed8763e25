"""The hierarchical Dirichlet process by the Chinese restaurant franchise (Teh, Jordan, Beal and Blei 2004)."""

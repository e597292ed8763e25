"""The hierarchical Dirichlet process by direct assignment of tokens to topics (Teh, Jordan, Beal and Blei 2004)."""

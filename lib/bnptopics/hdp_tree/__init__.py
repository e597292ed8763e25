"""Trees of Dirichlet processes: topics shared among groups of documents (Teh, Jordan, Beal and Blei 2004)."""

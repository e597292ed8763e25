"""What is modelled: simulation, joint densities, exact posteriors of tiny corpora. Slow, plain, the ground truth."""

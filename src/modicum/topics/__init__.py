"""Topic models: documents as mixtures of topics that they share."""

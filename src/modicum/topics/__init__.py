"""Topic models of documents, in bounded memory."""

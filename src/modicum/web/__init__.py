"""The application that people touch: pages for workers who sort and for owners who watch, on a database."""

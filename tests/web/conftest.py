"""Projects of pictures in both kinds of databases."""

import itertools

import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("fastapi")

import databases
from modicum.crowd import random_plan
from modicum.web.store import Project
from projects import pictures

numbers = itertools.count(1)


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory):
    if databases.find_programs() is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    pytest.importorskip("psycopg")
    with databases.postgres(tmp_path_factory.mktemp("postgres")) as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def where(request, tmp_path):
    """Where a new project can be made: a file, and an empty database of a real server."""
    if request.param == "sqlite":
        return str(tmp_path / "project.crowd")
    import psycopg

    url, name = request.getfixturevalue("postgres_url"), f"project{next(numbers)}"
    with psycopg.connect(f"{url}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"{url}/{name}"


@pytest.fixture
def project(where):
    """Twelve pictures, six tasks of four of them, each to be answered by two of three workers."""
    made = Project.create(where, pictures(12), title="Pictures", instruction="Sort them.", details="As you like.")
    made.add_plan(random_plan(made.item_names(), 4, 2, random_state=0), 2)
    made.invite(["ann", "bob", "eve"])
    yield made
    made.close()


@pytest.fixture
def people(project):
    """Workers by name."""
    return {row.name: row for row in project.invited()}

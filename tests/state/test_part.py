"""Classes of parts and learners are registered by name, so a name belongs to one class."""

import pytest

import modicum
from modicum.contract.learner import Learner
from modicum.state.packing import LEARNERS
from modicum.state.part import Part, register


@pytest.fixture(autouse=True)
def forget_classes():
    """Remove what a test has registered."""
    modicum.load_all_learners()
    known = dict(Part._known), dict(LEARNERS)
    yield
    for registry, before in zip((Part._known, LEARNERS), known, strict=True):
        registry.clear()
        registry.update(before)


def new_class(name, base, module, qualname=None):
    return type(name, (base,), {"__module__": module, "__qualname__": qualname or name})


@pytest.mark.parametrize(("base", "known"), [(Part, Part._known), (Learner, LEARNERS)], ids=["part", "learner"])
class TestNames:
    def test_a_class_is_known_by_its_name(self, base, known):
        made = new_class("Teapot", base, "kitchen")
        assert known["Teapot"] is made

    @pytest.mark.parametrize(("module", "qualname"), [("garden", "Teapot"), ("kitchen", "Shelf.Teapot")])
    def test_a_second_class_of_that_name_is_refused(self, base, known, module, qualname):
        first = new_class("Teapot", base, "kitchen")
        with pytest.raises(TypeError, match=f"{module} defines Teapot, but kitchen already has a class of that name"):
            new_class("Teapot", base, module, qualname)
        assert known["Teapot"] is first

    def test_a_redefinition_replaces_the_old_class(self, base, known):
        """As in a notebook cell that is run again, or a module that is reloaded."""
        first, second = (new_class("Teapot", base, "kitchen") for _ in range(2))
        assert first is not second
        assert known["Teapot"] is second

    def test_a_name_of_modicum_is_taken(self, base, known):
        taken = "Reservoir" if base is Learner else "History"
        before = known[taken]
        with pytest.raises(TypeError, match="Choose another name"):
            new_class(taken, base, "kitchen")
        assert known[taken] is before


def test_parts_and_learners_have_separate_names():
    new_class("Teapot", Part, "kitchen")
    new_class("Teapot", Learner, "garden")


def test_private_learners_are_not_registered():
    """Bases that are never saved may share a name."""
    for module in ("kitchen", "garden"):
        new_class("_Teapot", Learner, module)
    assert "_Teapot" not in LEARNERS


def test_a_refused_class_does_not_replace_the_first():
    known = {}
    register(new_class("Teapot", object, "kitchen"), known)
    with pytest.raises(TypeError):
        register(new_class("Teapot", object, "garden"), known)
    assert [cls.__module__ for cls in known.values()] == ["kitchen"]

"""Reports of progress: shares rise to 1, reach only those who watch, and change nothing."""

import contextvars
import threading

import pytest

from modicum import CrowdClustering, CrowdFactorization
from modicum.crowd.progress import part, report, watching
from modicum.datasets import crowd_answers

LEARNERS = {
    "auto": CrowdClustering(max_iter=20, random_state=0),
    "given": CrowdClustering(2, workers="matrix", n_init=1, max_iter=20, random_state=0),
    "short": CrowdClustering(2, workers="matrix", n_init=3, max_iter=5, random_state=0),
    "factors": CrowdFactorization(3, max_iter=30, random_state=0),
}


@pytest.fixture(scope="module")
def answers():
    return crowd_answers(30, 6, n_answers=24, task_size=10, random_state=1)[0]


@pytest.fixture
def told():
    return []


@pytest.fixture
def tell(told):
    return lambda share, words: told.append((share, words))


def fresh(name):
    learner = LEARNERS[name]
    return type(learner)(**learner.get_params())


@pytest.mark.parametrize("name", LEARNERS)
class TestFits:
    def test_shares_rise_from_0_to_1(self, name, answers, told, tell):
        learner = fresh(name)
        with watching(tell):
            learner.fit_groupings(answers)
            assert told[-1][0] <= 0.95  # clusters are still to be found
            assert learner.clusters_.size
        shares = [share for share, _ in told]
        assert shares == sorted(shares)
        assert shares[0] == 0
        assert told[-1] == (1.0, "done")
        assert len(set(shares)) > 10
        assert all(words for _, words in told)

    def test_later_answers_and_merges_are_reported(self, name, answers, told, tell):
        learner = fresh(name).fit_groupings(answers)
        for change in (
            lambda: learner.partial_fit_groupings(crowd_answers(30, 6, n_answers=3, task_size=10)[0]),
            lambda: learner.merge(fresh(name).fit_groupings(answers)),
        ):
            del told[:]
            with watching(tell):
                change()
            shares = [share for share, _ in told]
            assert shares == sorted(shares)
            assert shares[0] == 0
            assert shares[-1] == 1
            assert len(set(shares)) > 2

    def test_watching_changes_nothing(self, name, answers, tell):
        alone = fresh(name).fit_groupings(answers)
        with watching(tell):
            watched = fresh(name).fit_groupings(answers)
        assert alone.to_bytes() == watched.to_bytes()


def test_words(answers, told, tell):
    with watching(tell):
        learner = CrowdClustering(random_state=0).fit_groupings(answers)
        assert learner.n_clusters_
    words = list(dict.fromkeys(words for _, words in told))
    assert words[0] == "comparing models: reliability, 2 dimensions"
    assert "comparing models: matrix, 2 dimensions" in words
    assert words.index("fitting, start 2 of 2") == words.index("fitting, start 1 of 2") + 1
    assert words[words.index("fitting, start 2 of 2") + 1] == "fitting, sweep 13"
    assert words[-2:] == ["finding clusters", "done"]


def test_parts_within_parts(told, tell):
    with watching(tell):
        with part(1, 3, of=4):
            report(0.5, "half")
            with part(1, 2, of=2, words="second half"):
                report(0.0, "not said")
                with part(0, 1, of=2, words="not said"):
                    report(1.0)
        report(0.2, "never back")
    assert told == [(0.5, "half"), (0.5, "second half"), (0.625, "second half"), (0.625, "never back"), (1.0, "done")]


def test_an_error_ends_the_watch(answers, told, tell):
    class Stop(Exception):
        pass

    def stop(share, words):
        tell(share, words)
        if share > 0.1:
            raise Stop

    learner = fresh("auto")
    with pytest.raises(Stop), watching(stop):
        learner.fit_groupings(answers)
    before = len(told)
    assert told[-1][0] < 1
    report(0.5, "nobody watches")
    assert learner.fit_groupings(answers).to_bytes() == fresh("auto").fit_groupings(answers).to_bytes()
    assert len(told) == before
    with watching(tell):
        report(0.25, "again, of the whole")
    assert told[before:] == [(0.25, "again, of the whole"), (1.0, "done")]


def test_the_inner_watch_hears_alone(told, tell):
    inner = []
    with watching(tell), part(0, 1, of=2):
        report(0.5, "outer")
        with watching(lambda share, words: inner.append((share, words))):
            report(0.9, "inner")
        report(1.0, "outer")
    assert told == [(0.25, "outer"), (0.5, "outer"), (1.0, "done")]
    assert inner == [(0.9, "inner"), (1.0, "done")]


def test_threads_hear_their_own_fits(answers):
    """Two that fit at the same time, one that nobody watches, and one that runs in the context of the watcher."""
    heard = {"auto": [], "factors": [], "here": []}
    gate = threading.Barrier(3)

    def fit(name):
        gate.wait()
        if name == "given":
            fresh(name).fit_groupings(answers)
            return
        with watching(lambda share, words: heard[name].append((threading.current_thread().name, share))):
            fresh(name).fit_groupings(answers)

    with watching(lambda share, words: heard["here"].append((threading.current_thread().name, share))):
        threads = [threading.Thread(target=fit, args=[name], name=name) for name in ("auto", "factors", "given")]
        copied = contextvars.copy_context()
        threads.append(threading.Thread(target=copied.run, args=[report, 0.5, "for the watcher"], name="copied"))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert heard["here"] == [("copied", 0.5), ("MainThread", 1.0)]
    for name in ("auto", "factors"):
        assert {thread for thread, _ in heard[name]} == {name}
        shares = [share for _, share in heard[name]]
        assert shares == sorted(shares)

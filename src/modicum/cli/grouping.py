"""Groups of options in help, and examples of commands. Plain data, so that help is quick.

An option of a learner says itself to which group it belongs (`rich_help_panel`); others are listed here by the names of
their parameters, the most used ones first.
"""

INPUT, LEARNING, OUTPUT, LONG_RUNS, EXPERT = "Input", "What to learn", "Output", "Long runs", "Expert"

GROUPS: dict[str, tuple[str, ...]] = {
    INPUT: (
        *("states", "state", "names", "source", "among", "answers", "what", "project", "items", "done"),
        *("columns", "exclude", "target", "weight", "types", "scale", "missing"),
        *("document", "n_words", "vocabulary", "stop_words", "picture_size"),
        *("features", "prepare_like", "delimiter", "header", "skip_bad_rows", "passes", "shuffle_buffer"),
    ),
    LEARNING: (
        *("objective", "n_exemplars", "balance", "max_groups", "include", "drop_duplicates", "outliers", "n_similar"),
        *("confidence", "learner", "metric", "lag", "window"),
        *("model", "risk", "grid", "rows", "time_limit"),
        *("strategy", "task_size", "redundancy", "answers_per_task", "title", "instruction", "details", "gold"),
    ),
    OUTPUT: (
        *("output", "report", "save", "keep", "segments", "copy_to", "csv", "table", "as_json", "force"),
        *("plot", "image", "text", "curves", "n_points", "repeats", "folder", "clusters", "images"),
        *("host", "port", "url"),
    ),
    LONG_RUNS: ("follow", "checkpoint", "continue_", "every", "chunk_size", "dask", "shards"),
    EXPERT: (),
}
OTHERS = ("version", "install_completion", "show_completion", "help")
PLACES = {name: (group, place) for group, names in GROUPS.items() for place, name in enumerate(names)}

EXAMPLES: dict[str, tuple[str, ...]] = {
    "": ("modicum select flats.csv -k 10 --table", "modicum fit kmeans flats.csv -k 5 -o flats.mcm"),
    "select": (
        "modicum select flats.csv -k 10 -o picks.csv --report picks.html",
        "modicum select flats.csv --objective logdet -k 10 --columns area,rooms --table",
    ),
    "fit": (
        "modicum fit kmeans flats.csv -k 5 -o flats.mcm",
        "modicum fit svm flats.csv --target rooms --columns area,visits -o rooms.mcm --report rooms.html",
    ),
    "predict": (
        "modicum predict flats.mcm flats.csv -o clusters.parquet",
        "modicum predict flats.mcm flats.csv --keep street,area --csv",
    ),
    "evaluate": (
        "modicum evaluate flats.csv --target rooms --learner svm --table",
        'modicum evaluate flats.csv --target rooms --learner svm --learner "svm(half-life=200)" --plot rooms.png',
    ),
    "similar": (
        "modicum similar topics.mcm texts/0.txt --among texts -k 3",
        "modicum similar topics.mcm texts --table",
    ),
    "certify": ("modicum certify picks.mcm flats.csv", "modicum certify picks.mcm flats.csv --json"),
    "picks": ("modicum picks flats.mcm --table", "modicum picks flats.mcm -o centers.csv"),
    "coreset": (
        "modicum coreset flats.csv --n-points 50 -k 5 -o points.csv",
        "modicum coreset flats.csv --for mixture --n-points 50 -k 3 --save points.mcm --table",
    ),
    "tradeoff": (
        "modicum tradeoff flats.csv -k 5 --table",
        'modicum tradeoff flats.csv -k 5 --risk "20% above best" --save centers.mcm',
    ),
    "suggest-c": (
        "modicum suggest-c flats.csv --target rooms --table",
        "modicum suggest-c flats.csv --target rooms --columns area --grid 0.1,1,10",
    ),
    "crowd": (
        "modicum crowd new birds --items photos",
        "modicum crowd fit answers.csv -o crowd.mcm --clusters clusters.csv --report crowd.html",
    ),
    "merge": (
        "modicum merge west.mcm east.mcm -o both.mcm",
        "modicum merge monday.mcm tuesday.mcm wednesday.mcm -o week.mcm",
    ),
    "name": (
        "modicum name mixture.mcm c1=small",
        'modicum name mixture.mcm c2=medium "c3=large and new" -o named.mcm',
    ),
    "show": ("modicum show flats.mcm", "modicum show flats.mcm --json"),
    "papers": ("modicum papers", "modicum papers > papers.md"),
    "demo": ("modicum demo", "modicum demo --folder look --rows 20000"),
}
CROWD_EXAMPLES: dict[str, tuple[str, ...]] = {
    "new": (
        "modicum crowd new birds --items photos",
        'modicum crowd new notes --items notes.txt --instruction "Which notes are about the same thing?"',
    ),
    "serve": ("modicum crowd serve", "modicum crowd serve --project birds.crowd --port 9000"),
    "import": (
        "modicum crowd import answers.csv --project things.crowd",
        "modicum crowd import turk.csv --columns worker=WorkerId,task=HITId,item=Input.image*,group=Answer.group*",
    ),
    "export": ("modicum crowd export answers -o answers.csv", "modicum crowd export workers --table"),
    "demo": ("modicum crowd demo", "modicum crowd demo --folder look --port 9000"),
    "fit": (
        "modicum crowd fit answers.csv -o crowd.mcm --clusters clusters.csv --report crowd.html",
        "modicum crowd fit turk.csv --columns worker=WorkerId,task=HITId,item=Input.image*,group=Answer.group*",
    ),
    "plan": (
        "modicum crowd plan items.txt --task-size 10 --redundancy 3 --workers 20 -o tasks.csv",
        "modicum crowd plan --model crowd.mcm --strategy uncertain --task-size 10 --done answers.csv --csv",
    ),
    "report": ("modicum crowd report crowd.mcm", "modicum crowd report crowd.mcm -o report.html --images pictures"),
}

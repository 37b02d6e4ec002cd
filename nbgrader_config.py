"""How nbgrader works on this course: where things are, and what a released exercise looks like.

nbgrader finds the course by this file, so it works from whatever folder it is started in.
"""

import os
from contextlib import suppress
from pathlib import Path

course = Path(__file__).resolve().parent
# Submissions, marks and feedback of a class. Ignored by git; put it elsewhere with the variable.
classroom = Path(os.environ.get("D2LPERF_CLASSROOM") or course / "classroom").resolve()


def step(name: str) -> str:
    """Return a folder of the classroom, relative to the course: nbgrader escapes only its root."""
    return os.path.relpath(classroom / name, course)


c = get_config()  # noqa: F821  (nbgrader provides it)

c.CourseDirectory.course_id = "d2lperf"
c.CourseDirectory.root = str(course)
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"
c.CourseDirectory.source_with_tests_directory = step("source_with_tests")
c.CourseDirectory.submitted_directory = step("submitted")
c.CourseDirectory.autograded_directory = step("autograded")
c.CourseDirectory.feedback_directory = step("feedback")
c.CourseDirectory.solution_directory = step("solution")
c.CourseDirectory.db_url = f"sqlite:///{classroom / 'gradebook.db'}"
c.ZipCollectApp.downloaded_directory = str(classroom / "downloaded")
c.ExportPlugin.to = str(classroom / "grades.csv")

# For a class on one machine. On a shared one, the root is a folder that everybody can write.
c.Exchange.root = str(classroom / "exchange")
c.Exchange.cache = str(classroom / "cache")
c.Exchange.assignment_dir = str(classroom / "fetched")

c.ClearSolutions.begin_solution_delimeter = "### BEGIN SOLUTION"
c.ClearSolutions.end_solution_delimeter = "### END SOLUTION"
c.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}
c.ClearSolutions.text_stub = "Your answer here."

c.ExecutePreprocessor.timeout = 120
# Stored widget state needs a network to be shown; pictures are stored as ordinary outputs.
c.ExecutePreprocessor.store_widget_state = False

# nbgrader expects these to exist: SQLite opens its file there, Assignment List changes into them.
with suppress(OSError):
    for folder in ("exchange", "fetched"):
        (classroom / folder).mkdir(parents=True, exist_ok=True)

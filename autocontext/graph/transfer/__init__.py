"""An instance as a file, and back.

`export.py` writes the lines, `check.py` reads a whole file before anything is stored, `load.py` stores it; what a line
holds is in `lines.py`. Ids in a file are local: it may be imported under any name. Nothing here holds an instance in
memory; what has to be brought into order lies in a `Spool` meanwhile.
"""

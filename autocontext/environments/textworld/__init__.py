"""TextWorld games: the adapter (`game`), its reader, and a maker of games. Needs the extra `textworld`."""

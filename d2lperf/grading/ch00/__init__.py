"""The start page: one exercise to try the procedure on."""

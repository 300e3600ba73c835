"""One module per job: the only folder that joins the others."""

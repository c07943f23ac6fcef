"""What each verb of the command line does, a file for each."""

"""What can be said of a user's file of pairs before a model is asked."""

"""Pages of runs, sites, posts and badges: folders to publish."""

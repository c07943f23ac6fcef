"""A web site without a log."""

from twisted.web.server import Site


class QuietSite(Site):
    noisy = False

    def log(self, request):
        pass  # Else a line for each request is made, and kept until a log is opened.

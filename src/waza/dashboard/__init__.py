"""The dashboard: an HTTP API over saved runs, live events, and the built pages."""

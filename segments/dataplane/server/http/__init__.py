"""The server's HTTP port: routes, who may use them, what they answer."""

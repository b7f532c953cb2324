class ServiceError(Exception):
    pass


class ServiceUnavailableError(ServiceError):
    pass

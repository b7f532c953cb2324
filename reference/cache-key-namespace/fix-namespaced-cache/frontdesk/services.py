"""Services by name."""

import os

from frontdesk.accounts import AccountService
from frontdesk.billing import BillingService
from frontdesk.cache import Cache
from frontdesk.loyalty import LoyaltyService
from frontdesk.records import Records

SERVICES = {
    service.name: service for service in (AccountService, BillingService, LoyaltyService)
}


def open_service(name):
    """The service of that name, on the files that the environment names."""
    records = Records(os.environ.get("FRONTDESK_RECORDS", "records.json"), name)
    cache = Cache(os.environ.get("FRONTDESK_CACHE", "cache.sqlite3"), name)
    return SERVICES[name](records, cache)

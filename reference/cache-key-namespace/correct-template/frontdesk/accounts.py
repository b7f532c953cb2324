"""Who a customer is."""

from frontdesk.base import RecordService


class AccountService(RecordService):
    name = "accounts"

    def change_email(self, user_id, email):
        self._store(user_id, email=email)

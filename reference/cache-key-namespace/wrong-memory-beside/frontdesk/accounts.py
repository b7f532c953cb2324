"""Who a customer is."""


class AccountService:
    name = "accounts"

    def __init__(self, records, cache):
        self._records = records
        self._cache = cache

    def get(self, user_id):
        account = self._cache.get(f"svc:{self.name}:{user_id}")
        if account is None:
            account = self._records.read(user_id)
            self._cache.set(f"svc:{self.name}:{user_id}", account)
        return account

    def change_email(self, user_id, email):
        account = self._records.read(user_id)
        self._records.write(user_id, {**account, "email": email})
        self._cache.delete(f"svc:{self.name}:{user_id}")

import asyncio
import decimal
import logging
import os
import subprocess
import threading

from shop import account


class LoopPolicy(asyncio.DefaultEventLoopPolicy):
    pass


def test_log_in():
    account.current.set("eve")


def test_guest():
    assert account.current.get() == "guest"


def test_quiet_carts():
    logging.getLogger("shop.carts").setLevel(logging.CRITICAL)


def test_carts_report_errors():
    assert logging.getLogger("shop.carts").getEffectiveLevel() <= logging.ERROR


def test_no_log_at_all():
    logging.disable(logging.CRITICAL)


def test_log_of_orders():
    assert logging.getLogger("shop.orders").manager.disable < logging.ERROR


def test_rough_sums():
    decimal.DefaultContext.prec = 3


def test_exact_sums():
    sums = []
    thread = threading.Thread(target=lambda: sums.append(decimal.Decimal(1) / 3))
    thread.start()
    thread.join()
    assert len(str(sums[0])) > 20


def test_child_in_test_mode():
    os.putenv("SHOP_MODE", "test")


def test_child_in_normal_mode():
    assert subprocess.run(["sh", "-c", 'test -z "$SHOP_MODE"']).returncode == 0


def test_own_event_loops():
    asyncio.set_event_loop_policy(LoopPolicy())


def test_usual_event_loops():
    assert type(asyncio.get_event_loop_policy()) is not LoopPolicy

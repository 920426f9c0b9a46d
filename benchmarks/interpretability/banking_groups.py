"""The 77 intents of Banking77 in 10 coarse classes, grouped by the names of the intents."""

from __future__ import annotations

GROUPS = {  # coarse class: intents (index in the set: name)
    "top-up": {
        5: "automatic_top_up", 48: "pending_top_up", 56: "top_up_by_bank_transfer_charge",
        57: "top_up_by_card_charge", 58: "top_up_by_cash_or_cheque", 59: "top_up_failed",
        60: "top_up_limits", 61: "top_up_reverted", 62: "topping_up_by_card", 71: "verify_top_up",
    },
    "transfer": {
        6: "balance_not_updated_after_bank_transfer", 8: "beneficiary_not_allowed",
        9: "cancel_transfer", 28: "declined_transfer", 36: "failed_transfer",
        49: "pending_transfer", 51: "receiving_money", 64: "transfer_fee_charged",
        65: "transfer_into_account", 66: "transfer_not_received_by_recipient",
        67: "transfer_timing",
    },
    "cash": {
        4: "atm_support", 7: "balance_not_updated_after_cheque_or_cash_deposit",
        20: "cash_withdrawal_charge", 21: "cash_withdrawal_not_recognised",
        27: "declined_cash_withdrawal", 47: "pending_cash_withdrawal",
        75: "wrong_amount_of_cash_received",
    },
    "payment": {
        0: "Refund_not_showing_up", 16: "card_payment_fee_charged",
        17: "card_payment_not_recognised", 26: "declined_card_payment",
        29: "direct_debit_payment_not_recognised", 35: "extra_charge_on_statement",
        46: "pending_card_payment", 52: "request_refund", 53: "reverted_card_payment?",
        63: "transaction_charged_twice",
    },
    "exchange": {
        18: "card_payment_wrong_exchange_rate", 32: "exchange_charge", 33: "exchange_rate",
        34: "exchange_via_app", 37: "fiat_currency_support",
        76: "wrong_exchange_rate_for_cash_withdrawal",
    },
    "getting a card": {
        1: "activate_my_card", 10: "card_about_to_expire", 12: "card_arrival",
        13: "card_delivery_estimate", 14: "card_linking", 39: "get_physical_card",
        40: "getting_spare_card", 44: "order_physical_card",
    },
    "virtual card": {
        30: "disposable_card_limits", 38: "get_disposable_virtual_card",
        41: "getting_virtual_card", 72: "virtual_card_not_working",
    },
    "where it works": {
        3: "apple_pay_or_google_pay", 11: "card_acceptance", 15: "card_not_working",
        24: "contactless_not_working", 54: "supported_cards_and_currencies",
        73: "visa_or_mastercard",
    },
    "security": {
        19: "card_swallowed", 22: "change_pin", 23: "compromised_card",
        42: "lost_or_stolen_card", 43: "lost_or_stolen_phone", 45: "passcode_forgotten",
        50: "pin_blocked",
    },
    "account": {
        2: "age_limit", 25: "country_support", 31: "edit_personal_details",
        55: "terminate_account", 68: "unable_to_verify_identity", 69: "verify_my_identity",
        70: "verify_source_of_funds", 74: "why_verify_identity",
    },
}  # fmt: skip
COARSE = {index: coarse for coarse, members in GROUPS.items() for index in members}
INTENTS = [name for _, name in sorted(item for each in GROUPS.values() for item in each.items())]
COARSE_OF_INTENT = {INTENTS[index]: coarse for index, coarse in COARSE.items()}

from tools import options_page


def test_the_page_of_options_is_up_to_date() -> None:
    assert options_page.PAGE.read_text(encoding="utf-8") == options_page.page(), "run: make contract"

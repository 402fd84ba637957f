"""The query page in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from segments import wiring
from tests.console.conftest import FakeBroker
from tests.services.world import World

pytestmark = pytest.mark.browser
#: What differs from white in the middle of a canvas: something was drawn.
_INK = """(canvas) => {
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  let ink = 0;
  for (let i = 3; i < data.length; i += 4) if (data[i] > 0) ink += 1;
  return ink;
}"""


def test_an_answer_over_time_is_drawn_and_drawn_again_as_chosen(page: Page, world: World) -> None:
    broker = wiring.broker()
    assert isinstance(broker, FakeBroker)
    days = [f"2013-01-{day:02d}" for day in range(1, 29)]
    schema = {"columnNames": ["day", "carrier", "n"], "columnDataTypes": ["STRING", "STRING", "LONG"]}
    rows = [[day, carrier, 100 + 7 * at] for at, day in enumerate(days) for carrier in ("AA", "UA")]
    broker.answer = {"resultTable": {"dataSchema": schema, "rows": rows}, "exceptions": []}
    page.goto("/console/query/")
    page.get_by_label("SQL").fill("select day, carrier, count(*) n from t group by day, carrier limit 1000")
    page.keyboard.press("Control+Enter")
    canvas = page.get_by_role("img", name="Line chart of AA, UA; 28 places")
    expect(canvas).to_be_visible()
    line = page.wait_for_function(_INK, arg=canvas.element_handle()).json_value()
    page.get_by_label("Kind").select_option("Bar")
    bars = page.get_by_role("img", name="Bar chart of AA, UA; 28 places")
    expect(bars).to_be_visible()
    page.wait_for_function(
        f"(canvas) => {{ const ink = ({_INK})(canvas); return ink > 0 && ink !== {line}; }}", arg=bars.element_handle()
    )
    expect(page.get_by_role("region", name="Result")).to_contain_text("2013-01-28")

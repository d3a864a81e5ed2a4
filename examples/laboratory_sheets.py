"""A laboratory on paper: sheets of questions, an own point, a typing error and its correction."""

import warnings

import numpy as np

import grisaille as gs

celsius = gs.Variable("celsius", lower=20, upper=80)
hours = gs.Variable("hours", lower=0.5, upper=4)
synthesis = gs.BlackBox(None, name="synthesis", outputs=["product", "acid"], noise=0)
batch = synthesis(celsius, hours)
problem = gs.Problem(
    maximize=100 * batch["product"] - 20 * batch["acid"] ** 2 - 3 * hours,
    subject_to=[batch["acid"] <= 0.5],
)
strategy = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=256))  # quick


def fill_in(sheet):
    """Stands for the people at the bench, whose oven is set in steps of 0.5 °C."""
    sheet["celsius"] = (2 * sheet["celsius"]).round() / 2  # what was really done
    rate = np.exp(0.05 * (sheet["celsius"] - 50))
    sheet["product"] = (1 - np.exp(-rate * sheet["hours"])).round(4)
    sheet["acid"] = (0.05 * rate * sheet["hours"]).round(4)


def main() -> None:
    study = gs.Study(problem, strategy=strategy)
    study.enqueue(celsius=60, hours=2)  # what is done today
    for _ in range(3):
        sheet = study.ask_sheet(3)
        fill_in(sheet)
        for message in study.tell_sheet(sheet)["message"]:
            print(message)

    sheet = study.ask_sheet(1)
    fill_in(sheet)
    right = sheet.loc[0, "product"]
    sheet.loc[0, "product"] = 10 * right  # the decimal point is one digit too far
    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always")
        study.tell_sheet(sheet)
    print("remark:", remarks[0].message)
    study.correct(sheet.loc[0, "id"], {"product": right, "acid": sheet.loc[0, "acid"]})

    print(study.answers().tail(3).to_string(index=False))
    print(study.result())


if __name__ == "__main__":
    main()

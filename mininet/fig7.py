# SPDX-License-Identifier: Apache-2.0
"""The plot of a run: which source sent, what came in, which node received.

Three panels over time, for the whole run on the left and around the last
boundary on the right.  Packets have the colour of their epoch.  On the right
some events on both sides of the boundary have colours of their own: their
packets come from five sources at five times, and all go to one node.
"""

import matplotlib
matplotlib.use("Agg")
# pylint: disable=wrong-import-position
from matplotlib import pyplot  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402

EPOCH_COLOURS = ["#7aa6d8", "#efb66b", "#8fc48a", "#c79fd0", "#d99a94"]
EVENT_COLOURS = ["#d40000", "#0033cc", "#111111", "#b000b0", "#006b2d",
                 "#8a5a00"]
EVENT_MARKERS = "osD^v*"
MARGIN = 0.45       # Seconds beside the boundary's mix.
# Rows are as high as this part of their distance.
ROW = 0.62


class Figure:
    """What is plotted."""

    def __init__(self, audit):
        self.epochs = audit.epochs
        self.into = sorted(audit.into)
        self.out = sorted(audit.out, key=lambda packet: packet[0])
        self.start = self.into[0][0]
        names = sorted(audit.sources.values())
        self.rows_in = {name: i for i, name in enumerate(names)}
        members = sorted(audit.nodes.values())
        self.rows_out = {member: i for i, member in enumerate(members)}
        self.names_out = [audit.run["names"][str(m)] for m in members]
        self.boundary = self.epochs[-1]["from"]
        self.mixes = [self.mix(epoch["from"]) for epoch in self.epochs[1:]]
        self.chosen = self.choose()

    def seconds(self, when):
        """Returns the time since the first packet."""
        return (when - self.start) / 1e9

    def mix(self, boundary):
        """Returns when the first packet beyond 'boundary' and the last before
        it came."""
        after = next(when for when, tick, _ in self.into if tick >= boundary)
        before = next(when for when, tick, _ in reversed(self.into)
                      if tick < boundary)
        return self.seconds(after), self.seconds(before)

    def choose(self):
        """Returns the ticks of the events to follow, half of them on each
        side of the last boundary, a while apart."""
        ticks = sorted({tick for _, tick, _ in self.into})
        middle = next(i for i, tick in enumerate(ticks)
                      if tick >= self.boundary)
        half = len(EVENT_COLOURS) // 2
        step = max(min(middle, len(ticks) - middle) // (8 * half), 1)
        step = min(step, 14)
        return [ticks[middle + (k - half) * step + step // 2]
                for k in range(2 * half)]

    def epoch_of(self, tick):
        """Returns the number of the epoch of 'tick', from 0 on."""
        return sum(epoch["from"] <= tick for epoch in self.epochs) - 1

    def draw(self, axes, packets, row, window, size):
        """Draws 'packets' within 'window' in the colours of their epochs."""
        spread = (max(tick for _, tick, _ in packets) or 1)
        points = [([], []) for _ in self.epochs]
        for when, tick, place in packets:
            x = self.seconds(when)
            if window[0] <= x <= window[1]:
                xs, ys = points[self.epoch_of(tick)]
                xs.append(x)
                ys.append(row(tick, place, spread))
        for (xs, ys), colour in zip(points, EPOCH_COLOURS):
            axes.plot(xs, ys, linestyle="", marker="o", markersize=size,
                      markeredgewidth=0, color=colour, rasterized=True)

    def follow(self, axes, packets, row):
        """Draws the packets of the chosen events."""
        for tick, colour, marker in zip(self.chosen, EVENT_COLOURS,
                                        EVENT_MARKERS):
            mine = [(self.seconds(when), row(tick, place, 1))
                    for when, t, place in packets if t == tick]
            axes.plot([x for x, _ in mine], [y for _, y in mine],
                      linestyle="", marker=marker, markersize=10 if marker == "*" else 6.5,
                      markeredgecolor="white", markeredgewidth=0.5,
                      color=colour, zorder=5)


def in_rows(rows):
    """Returns the height of a packet in a panel with a row for each place.
    Within its row it is spread by its tick."""
    def height(tick, place, _):
        return rows[place] + ROW * ((tick // 7 % 97) / 96 - 0.5)
    return height


def by_tick(tick, _, __):
    """Returns the height of a packet in a panel of ticks."""
    return tick / 1e6


def middle_of(rows):
    """Returns the height of a packet of an event that is followed."""
    def height(_, place, __):
        return rows[place]
    return height


def mark_changes(figure, axes, window):
    """Marks when epochs were committed, and when both sides came mixed."""
    for epoch, (begin, end) in zip(figure.epochs[1:], figure.mixes):
        committed = epoch["time"] - figure.start / 1e9
        axes.axvspan(begin, end, color="#dddddd", zorder=0, linewidth=0)
        if window[0] <= committed <= window[1]:
            axes.axvline(committed, color="#444444", linestyle="--",
                         linewidth=0.9, zorder=4)


def draw_column(figure, column, window, size):
    """Draws the three panels for the time 'window'."""
    rows_in, rows_out = figure.rows_in, figure.rows_out
    panels = ((figure.into, in_rows(rows_in)), (figure.into, by_tick),
              (figure.out, in_rows(rows_out)))
    for axes, (packets, row) in zip(column, panels):
        mark_changes(figure, axes, window)
        figure.draw(axes, packets, row, window, size)
        axes.set_xlim(*window)
    heights = [tick / 1e6 for when, tick, _ in figure.into
               if window[0] <= figure.seconds(when) <= window[1]]
    edge = 0.04 * (max(heights) - min(heights))
    column[1].set_ylim(min(heights) - edge, max(heights) + edge)
    for axes in (column[0], column[2]):
        axes.grid(axis="y", color="#eeeeee", zorder=0)
        axes.set_axisbelow(True)
    column[0].set_yticks(range(len(rows_in)), list(rows_in))
    column[2].set_yticks(range(len(rows_out)), figure.names_out)
    for axes, n in ((column[0], len(rows_in)), (column[2], len(rows_out))):
        axes.set_ylim(n - 0.4, -0.6)
    for epoch in figure.epochs[1:]:
        column[1].axhline(epoch["from"] / 1e6, color="#888888",
                          linewidth=0.8, linestyle=":")
    column[2].set_xlabel("time since the first packet (s)")
    for axes in column[:2]:
        axes.tick_params(labelbottom=False)


def legend(figure, whole):
    """Adds the legend."""
    handles = [Line2D([], [], linestyle="", marker="o", color=colour,
                      label="events of epoch %d" % epoch["epoch"])
               for epoch, colour in zip(figure.epochs, EPOCH_COLOURS)]
    handles += [
        Patch(color="#dddddd", label="both sides of a boundary arrive mixed"),
        Line2D([], [], color="#444444", linestyle="--",
               label="epoch committed by the switch"),
        Line2D([], [], color="#888888", linestyle=":", label="boundary")]
    handles += [Line2D([], [], linestyle="", marker=marker, color=colour,
                       label="event %d" % tick)
                for tick, colour, marker in zip(
                    figure.chosen, EVENT_COLOURS, EVENT_MARKERS)]
    whole.legend(handles=handles, loc="lower center", ncol=4, fontsize=10,
                 frameon=False)


def plot(audit, path):
    """Draws the run that 'audit' has read into the file 'path'."""
    figure = Figure(audit)
    whole, panels = pyplot.subplots(
        3, 2, figsize=(15, 12), gridspec_kw={
            "height_ratios": (5, 5, 7), "width_ratios": (1, 1)})
    left, right = panels[:, 0], panels[:, 1]
    end = figure.seconds(figure.out[-1][0] if figure.out
                         else figure.into[-1][0])
    begin_mix, end_mix = figure.mixes[-1]
    draw_column(figure, left, (-0.01 * end, 1.01 * end), 0.9)
    draw_column(figure, right, (begin_mix - MARGIN, end_mix + MARGIN), 2.2)
    chosen = (figure.into, figure.into, figure.out)
    heights = (middle_of(figure.rows_in), by_tick, middle_of(figure.rows_out))
    for axes, packets, row in zip(right, chosen, heights):
        figure.follow(axes, [p for p in packets if p[2] is not None], row)
    left[0].set_title("whole run")
    right[0].set_title("around the boundary of epoch %d"
                       % figure.epochs[-1]["epoch"])
    left[0].set_ylabel("sources")
    left[1].set_ylabel("balancer input:\ntick (millions)")
    left[2].set_ylabel("compute-node output")
    legend(figure, whole)
    whole.tight_layout(rect=(0, 0.075, 1, 1))
    whole.savefig(path, dpi=110)
    pyplot.close(whole)

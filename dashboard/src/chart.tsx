/** Charts over time with intervals, by uPlot; every chart has its numbers as a table as well. */

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface Point {
  /** Milliseconds since 1970. */
  time: number;
  value: number | null;
  lower: number | null;
  upper: number | null;
  /** Whether its run did not measure all of its tasks: the line passes it by. */
  partial: boolean;
}

interface Props {
  title: string;
  points: readonly Point[];
  format: (value: number) => string;
  /** The indexes of points with which the level changed. */
  changes: readonly number[];
  /** What is done with a point that was clicked. */
  open: (index: number) => void;
}

/** A line of values with a band of their intervals; upright lines stand where the level changed. */
export function Chart({ title, points, format, changes, open }: Props) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    let plot: uPlot | undefined;
    const draw = () => {
      plot?.destroy();
      plot = new uPlot(options(element, format, changes), dataOf(points), element);
      const { over } = plot;
      over.addEventListener("click", () => {
        const index = plot?.cursor.idx;
        if (typeof index === "number") open(index);
      });
    };
    const resized = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height: HEIGHT }));
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    draw();
    resized.observe(element);
    addEventListener("themechange", draw);
    scheme.addEventListener("change", draw);
    return () => {
      resized.disconnect();
      removeEventListener("themechange", draw);
      scheme.removeEventListener("change", draw);
      plot?.destroy();
    };
  }, [points, changes]);
  return <div class="drawing" ref={box} role="img" aria-label={`${title} over ${points.length} runs; the table below has the numbers`} />;
}

const HEIGHT = 200;

function dataOf(points: readonly Point[]): uPlot.AlignedData {
  return [
    points.map((_, i) => i),
    points.map((point) => (point.partial ? null : point.upper)),
    points.map((point) => (point.partial ? null : point.lower)),
    points.map((point) => (point.partial ? null : point.value)),
    points.map((point) => (point.partial ? point.value : null)),
  ];
}

/** A colour of the style sheet as canvases know it. */
function colour(name: string, within: HTMLElement): string {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  within.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** The ends of the upright axis. Values that are all equal are seen against 0. */
function bounds(_: uPlot, low: number | null, high: number | null): uPlot.Range.MinMax {
  if (low === null || high === null) return [0, 1];
  return low === high ? [Math.min(0, low), Math.max(0, high) || 1] : uPlot.rangeNum(low, high, 0.1, true);
}

function options(element: HTMLElement, format: (value: number) => string, changes: readonly number[]): uPlot.Options {
  const [line, accent, quiet, partial, card] = ["line", "accent", "quiet", "partial", "card"].map((name) => colour(name, element)) as [
    string,
    string,
    string,
    string,
    string,
  ];
  const faint = accent.replace(/^rgba?\(([^)]+)\)$/, (_, parts: string) => `rgba(${parts.split(",").slice(0, 3).join(",")}, .18)`);
  const axis = { stroke: quiet, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: "12px system-ui, sans-serif" };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { size: 7 } },
    scales: { x: { time: false, range: (_, low, high) => [low - 0.5, high + 0.5] }, y: { range: bounds } },
    axes: [
      { ...axis, incrs: [1, 2, 5, 10, 20, 50, 100], values: (_, splits) => splits.map((split) => (Number.isInteger(split) ? String(split + 1) : "")) },
      { ...axis, size: 56, values: (_, splits) => splits.map(format) },
    ],
    series: [
      {},
      { stroke: "transparent", spanGaps: true, points: { show: false } },
      { stroke: "transparent", spanGaps: true, points: { show: false } },
      { stroke: accent, width: 2, spanGaps: true, points: { show: true, size: 6, fill: accent } },
      { stroke: partial, paths: () => null, points: { show: true, size: 9, width: 2, fill: card } },
    ],
    bands: [{ series: [1, 2], fill: faint }],
    hooks: {
      draw: [
        (plot) => {
          const { ctx, bbox } = plot;
          ctx.save();
          ctx.strokeStyle = partial;
          ctx.lineWidth = 2 * devicePixelRatio;
          ctx.setLineDash([6, 4]);
          for (const index of changes) {
            const x = plot.valToPos(index - 0.5, "x", true);
            ctx.beginPath();
            ctx.moveTo(x, bbox.top);
            ctx.lineTo(x, bbox.top + bbox.height);
            ctx.stroke();
          }
          ctx.restore();
        },
      ],
    },
  };
}

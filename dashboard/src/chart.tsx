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
    points.map((point) => point.upper),
    points.map((point) => point.lower),
    points.map((point) => point.value),
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

function options(element: HTMLElement, format: (value: number) => string, changes: readonly number[]): uPlot.Options {
  const [line, accent, quiet, partial] = ["line", "accent", "quiet", "partial"].map((name) => colour(name, element)) as [string, string, string, string];
  const faint = accent.replace(/^rgba?\(([^)]+)\)$/, (_, parts: string) => `rgba(${parts.split(",").slice(0, 3).join(",")}, .18)`);
  const axis = { stroke: quiet, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: "12px system-ui, sans-serif" };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { size: 7 } },
    scales: { x: { time: false, range: (_, low, high) => [low - 0.5, high + 0.5] } },
    axes: [
      { ...axis, incrs: [1, 2, 5, 10, 20, 50, 100], values: (_, splits) => splits.map((split) => (Number.isInteger(split) ? String(split + 1) : "")) },
      { ...axis, size: 56, values: (_, splits) => splits.map(format) },
    ],
    series: [
      {},
      { stroke: "transparent", points: { show: false } },
      { stroke: "transparent", points: { show: false } },
      { stroke: accent, width: 2, spanGaps: true, points: { show: true, size: 6, fill: accent } },
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

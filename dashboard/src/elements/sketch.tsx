const heights = [9, 14, 24, 19, 29, 22, 12, 16, 33, 27, 38, 30, 18, 22, 41, 36]
const lines = [0, 1, 2]

/** A drawing of what a page shows once it is not empty: rows of a table, or the bars of a plot. */
export function Sketch({ of }: { of: 'rows' | 'bars' }) {
  return (
    <svg class="sketch" viewBox="0 0 320 48" aria-hidden="true">
      {of === 'bars'
        ? heights.map((height, index) => (
            <rect
              key={index}
              x={index * 20 + 3}
              y={46 - height}
              width="14"
              height={height}
              rx="2"
            />
          ))
        : lines.map((line) => (
            <g key={line}>
              <rect x="4" y={line * 16 + 4} width="56" height="7" rx="3" />
              <rect class="sketch-state" x="84" y={line * 16 + 3} width="28" height="9" rx="4" />
              <rect x="136" y={line * 16 + 4} width={96 - line * 18} height="7" rx="3" />
              <rect x="284" y={line * 16 + 4} width="32" height="7" rx="3" />
            </g>
          ))}
    </svg>
  )
}

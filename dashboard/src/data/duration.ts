/** Formats a duration: `850 ms`, `2.4 s` or `1.5 min`. */
export function shortDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${(ms / 60_000).toFixed(1)} min`
}

/** The largest tolerated clock difference between two replicas. */
export const clocksDifferMaxMs = 120_000

/** Whether a text such as `2027-02-28` is a day of the calendar. */
export function isDay(text: string): boolean {
  const at = Date.parse(text)
  // JavaScript reads the 30th of February as the 2nd of March.
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text)
}

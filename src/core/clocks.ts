/** By how much the clocks of two replicas may differ where a time of one is judged by another one. */
export const clocksDifferMaxMs = 120_000

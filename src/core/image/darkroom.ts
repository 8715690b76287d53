/**
 * Runs work with pixels, of which only a little is done at once: rendering and converting take a core
 * for long. Throws `overloaded` when too much of it waits already.
 */
export type Darkroom = <T>(work: () => Promise<T>) => Promise<T>

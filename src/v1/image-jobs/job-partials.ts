import { EventEmitter } from 'node:events'
import type { MemoryHold } from '../../bytes/memory-budget.ts'
import { piecesLength } from '../../bytes/pieces.ts'
import type { ImageWatch, PartialPicture } from '../../core/image/image.ts'

/** A partial image of a job, with its number among those of the job. */
type JobPartial = PartialPicture & { number: number }

/** The latest partial image of each picture of the jobs that this process executes. */
export type JobPartials = ReturnType<typeof createJobPartials>

export function createJobPartials() {
  const jobs = new Map<string, Map<number, JobPartial>>()
  /** Its events are the ids of jobs that have a new partial image. */
  const shown = new EventEmitter().setMaxListeners(0)
  return {
    /** The watch of a job. Its partial images are counted in the memory of the job until `end` is called. */
    begin: (
      id: string,
      partialImages: number,
      memory: MemoryHold,
    ): { watch: ImageWatch; end: () => void } => {
      const latest = new Map<number, JobPartial>()
      let number = 0
      const drop = (imageIndex: number) => {
        const { picture } = latest.get(imageIndex) ?? {}
        if (picture !== undefined) memory.giveAnswer(piecesLength(picture.base64))
        latest.delete(imageIndex)
      }
      const partial = (one: PartialPicture) => {
        drop(one.imageIndex)
        latest.set(one.imageIndex, { ...one, number: number++ })
        memory.growAnswer(piecesLength(one.picture.base64))
        shown.emit(id)
      }
      jobs.set(id, latest)
      const end = () => {
        jobs.delete(id)
        latest.forEach(({ imageIndex }) => drop(imageIndex))
      }
      return { watch: { partialImages, partial }, end }
    },
    /** The kept partial images of a job, in the order of their numbers. */
    of: (id: string): Iterable<JobPartial> => jobs.get(id)?.values() ?? [],
    /** Calls the listener after each partial image of a job; returns a function that ends this. */
    onShown: (id: string, listener: () => void): (() => void) => {
      shown.on(id, listener)
      return () => void shown.off(id, listener)
    },
  }
}

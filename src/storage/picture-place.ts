/** Where the encrypted contents of pictures are: a folder, or a bucket. Each content is written once. */
export type PicturePlace = {
  /** The place, for the operator; without secrets. */
  name: string
  /** Throws a PicturePlaceError if no content can be written at the moment. */
  check(): Promise<void>
  /** Resolves when the content is durable. Throws a PicturePlaceError. */
  write(place: string, content: Uint8Array): Promise<void>
  /** At most `bytesMax` bytes, or undefined if there is no such content. Throws a PicturePlaceError. */
  read(place: string, bytesMax: number): Promise<Buffer | undefined>
  /** Succeeds if there is no such content. Throws a PicturePlaceError. */
  remove(place: string): Promise<void>
  close(): Promise<void>
}

/** The folder or bucket cannot be used; the message names the remedy and contains no secret. */
export class PicturePlaceError extends Error {
  override name = 'PicturePlaceError'
}

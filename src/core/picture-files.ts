import type { MemoryHold } from '../bytes/memory-budget.ts'
import type { Caller } from './caller.ts'
import type { ImageFormat, Picture } from './image/image.ts'

/** A picture that is stored for an account until it expires. */
export type PictureFile = {
  /** Each file has its own id; files of one account with equal bytes share their content. */
  id: string
  /** The format of the bytes. */
  format: ImageFormat
  bytes: number
  /** SHA-256 of the bytes in hexadecimal digits. */
  sha256: string
  expiresAtMs: number
  /** The name of its content in the folder or bucket. */
  place: string
}

type Account = Pick<Caller, 'accountId' | 'mode'>

/** The parts of a signed link, unchecked. */
export type PictureLink = { fileId: string; account: string; expires: string; signature: string }

/** A file whose bytes have not been read. */
export type OpenedPicture = {
  file: PictureFile
  /** The bytes, or undefined if they are lost. Takes memory for three copies, of which one stays taken. */
  read(memory: MemoryHold): Promise<Buffer | undefined>
}

/** The stored pictures. All functions but `linkTo` throw a GatewayError if the store fails. */
export type PictureFiles = {
  /**
   * Whether pictures can be stored for an account; asked before a vendor. `inline` means that they cannot at the
   * moment, and that the setting wants them in the answer. Throws a GatewayError if the call must be refused.
   */
  place(accountId: string): Promise<'files' | 'inline'>
  /**
   * Stores the content of a picture; resolves when it is durable. If the bucket fails, it waits in the store. It is
   * removed after an hour, unless the end of its job adds the file.
   */
  put(
    accountId: string,
    picture: Pick<Picture, 'base64' | 'format'>,
    memory: MemoryHold,
  ): Promise<PictureFile>
  /** The address from which anyone can get the file for an hour, and not longer than the file is stored. */
  linkTo(account: Pick<Account, 'accountId'>, file: Pick<PictureFile, 'id' | 'expiresAtMs'>): string
  /** The file of a link. Throws `not_found` for a changed or expired link, and for a deleted file. */
  follow(link: PictureLink): Promise<OpenedPicture>
  /** A file of the account, for keys of its mode; undefined if it is expired or deleted. */
  open(account: Account, fileId: string): Promise<OpenedPicture | undefined>
}

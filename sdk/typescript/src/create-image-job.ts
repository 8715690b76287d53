import {
  createImage,
  createImageEdit,
  type CreateImageData,
  type CreateImageEditData,
  type ImageJob,
  type ImagesResponse,
  type Options,
} from './generated/index.js'

/** A job, or the images themselves if they were cached, or cannot be stored now. Only a job has `object`. */
export type JobOrImages = ImageJob | ImagesResponse

const asynchronous = { prefer: 'respond-async' }

/** Begins to create images. Throws the `error` of a failure. */
export async function createImageJob(
  options: Omit<Options<CreateImageData, true>, 'throwOnError'>,
): Promise<JobOrImages> {
  const headers = { ...(options.headers as object), ...asynchronous }
  return (await createImage({ ...options, headers, throwOnError: true })).data
}

/** Begins to edit images. Throws the `error` of a failure. */
export async function createImageEditJob(
  options: Omit<Options<CreateImageEditData, true>, 'throwOnError'>,
): Promise<JobOrImages> {
  const headers = { ...(options.headers as object), ...asynchronous }
  return (await createImageEdit({ ...options, headers, throwOnError: true })).data
}

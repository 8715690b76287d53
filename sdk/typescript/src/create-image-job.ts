import type { Options, RequestData, WithForm } from './client.js'
import { createImage, createImageEdit } from './generated/operations.js'
import type {
  CreateImageData,
  CreateImageEditData,
  CreateImageEditForm,
  ImageJob,
  ImagesResponse,
} from './generated/types.js'

/** A job, or the images themselves if they were cached, or cannot be stored now. Only a job has `object`. */
export type JobOrImages = ImageJob | ImagesResponse

type JobOptions<Data extends RequestData> = Omit<Options<Data>, 'throwOnError'>

/** Begins to create images. A failed call throws its `GatewayError`. */
export async function createImageJob(options: JobOptions<CreateImageData>): Promise<JobOrImages> {
  return (await createImage(asynchronous(options))).data
}

/** Begins to edit images. A failed call throws its `GatewayError`. */
export async function createImageEditJob(
  options: JobOptions<WithForm<CreateImageEditData, CreateImageEditForm>>,
): Promise<JobOrImages> {
  return (await createImageEdit(asynchronous(options))).data
}

function asynchronous<Call extends { headers?: object }>(options: Call) {
  const headers = { ...options.headers, prefer: 'respond-async' }
  return { ...options, headers, throwOnError: true as const }
}

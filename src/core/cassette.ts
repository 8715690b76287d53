import type { components } from '../../generated/types.ts'

/** A request to a vendor and its answer, as a cassette has them. */
export type Interaction = components['schemas']['CassetteInteraction']
export type RecordedRequest = Pick<Interaction, 'provider' | 'request'>

/** The provider and the model of a route. */
type Place = { provider: { id: string }; upstreamModel: string }

/** Records the answers of vendors to a call, or replays them (docs/recipes/record-and-replay.md). */
export type Cassette =
  | {
      plays: false
      /** Answers of more bytes are not kept. */
      bytesMax: number
      /** Stores an interaction; undefined for one that is too large. Never rejects. */
      keep(interaction: Interaction | undefined): Promise<void>
    }
  | {
      plays: true
      /** The next recorded answer to an equal request. Throws `cassette_mismatch`. */
      play(request: RecordedRequest): Interaction
      /** The routes that were recorded, in the order of their next interactions. */
      order<One extends Place>(routes: readonly One[]): readonly One[]
    }

/** The cassette of a call, and the model of the route that is tried. */
export type RouteCassette = Cassette & { model: string }

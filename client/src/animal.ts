// The animals that the client sends and receives.

/** Whether an animal can be sold. */
export type Status = 'available' | 'pending' | 'sold'

/** An animal to add. */
export interface NewAnimal {
  /** Not blank, and at most 1,000 characters. */
  readonly name: string
  /** Any 64-bit integer. */
  readonly categoryId: bigint
  /** Stays unset if it is undefined. */
  readonly status?: Status | undefined
}

/** An animal as the service stores it. It never changes. */
export interface Animal extends NewAnimal {
  /** Chosen by the service. Ids ascend, and may have gaps. */
  readonly id: bigint
  /** Absent if the animal was added without a status. */
  readonly status?: Status
}

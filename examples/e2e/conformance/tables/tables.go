package tables

// table is one table of the kubelet's tests, and what is made of it here.
type table struct {
	// file is below pkg/kubelet, tests are its functions. Without any they are all
	// of the file, and one without a table is one case.
	file  string
	tests []string
	// cases is how many they have, and taken is how many of them are cases here.
	cases, taken int
	// ours are the files and the functions or variables that hold our cases, as
	// "file name". They may hold cases of our own, too.
	ours []string
	own  int
	// why says why the other cases are left out.
	why string
}

// tables are those of the parts that a hollow node has. The facts of those of
// which no case is taken are tests of another form, as their reasons say.
var tables = []table{
	// What a sync does.
	{
		file: "kuberuntime/kuberuntime_manager_test.go", tests: []string{"TestComputePodActions"},
		cases: 17, taken: 17, ours: []string{"decide_test.go mainDecisions"},
	},
	{
		file: "kuberuntime/kuberuntime_manager_test.go", tests: []string{"TestComputePodActionsWithInitContainers"},
		cases: 19, taken: 16, ours: []string{"decide_test.go initDecisions"},
		why: "3 are about in-place resize",
	},
	{
		file:  "kuberuntime/kuberuntime_manager_test.go",
		tests: []string{"TestComputePodActionsWithRestartableInitContainers"},
		cases: 25, taken: 25, ours: []string{"decide_test.go sidecarDecisions"},
	},
	{
		file:  "kuberuntime/kuberuntime_manager_test.go",
		tests: []string{"TestComputePodActionsWithContainerRestartRules"},
		cases: 5, taken: 5, ours: []string{"decide_test.go TestAContainersOwnPolicyComesBeforeThePods"},
	},
	{
		file: "kuberuntime/kuberuntime_manager_test.go", tests: []string{"TestComputePodActionsForRestartAllContainers"},
		cases: 10, taken: 10, ours: []string{"decide_test.go TestAllContainersRestartWithTheCauseLast"},
	},
	{
		file:  "kuberuntime/kuberuntime_manager_test.go",
		tests: []string{"TestComputePodActionsWithInitAndEphemeralContainers"},
		cases: 9, why: "there are no ephemeral containers",
	},
	{
		file: "kuberuntime/kuberuntime_manager_test.go", tests: []string{"TestComputePodActionsForPodResize"},
		cases: 18, why: "there is no in-place resize",
	},
	{
		file: "kuberuntime/kuberuntime_manager_test.go", tests: []string{"TestDoBackOff"},
		cases: 3, taken: 3, ours: []string{"facts_test.go TestAContainerBacksOffAsForTheKubelet"},
	},
	{
		file: "kuberuntime/kuberuntime_container_test.go", tests: []string{"TestKillContainerGracePeriod"},
		cases: 11, taken: 11, ours: []string{"facts_test.go TestAContainerThatIsStoppedHasTheGraceOfTheKubelet"},
	},
	// The status of a pod.
	{
		file: "kubelet_pods_test.go",
		tests: []string{
			"TestPodPhaseWithRestartAlways", "TestPodPhaseWithRestartAlwaysInitContainers",
			"TestPodPhaseWithRestartAlwaysRestartableInitContainers", "TestPodPhaseWithRestartAlwaysAndPodHasRun",
			"TestPodPhaseWithRestartNever", "TestPodPhaseWithRestartNeverInitContainers",
			"TestPodPhaseWithRestartNeverRestartableInitContainers", "TestPodPhaseWithRestartOnFailure",
			"TestPodPhaseWithContainerRestartPolicy", "TestPodPhaseWithContainerRestartPolicyInitContainers",
			"TestPodPhaseWithRestartAllContainers",
		},
		cases: 94, taken: 94, ours: []string{
			"phase_test.go TestThePhaseIsThatOfTheKubelet", "phase_test.go TestAContainersOwnPolicyDecidesThePhase",
		},
	},
	{
		file:  "status/generate_test.go",
		tests: []string{"TestGenerateContainersReadyCondition", "TestGeneratePodReadyCondition"},
		cases: 25, taken: 25, ours: []string{
			"facts_test.go TestContainersAreReadyAsForTheKubelet", "facts_test.go TestAPodIsReadyAsForTheKubelet",
		},
	},
	{
		file: "active_deadline_test.go", tests: []string{"TestNewActiveDeadlineHandler", "TestActiveDeadlineHandler"},
		cases: 13, taken: 5, ours: []string{"facts_test.go TestAPodIsPastItsDeadlineAsForTheKubelet"},
		why: "8 are about the constructor",
	},
	{
		file: "status/status_manager_test.go", cases: 103,
		why: "TestTheAPIShowsWhatTheKubeletsStatusManagerWrites of package conformance runs the manager itself",
	},
	// The life of a pod.
	{
		file: "pod_workers_test.go", tests: []string{"Test_calculateEffectiveGracePeriod"},
		cases: 5, taken: 5, ours: []string{"plan_test.go TestAPodsGracePeriodOnlyShrinks"}, own: 4,
	},
	{
		file: "pod_workers_test.go", tests: []string{
			"TestUpdatePod", "TestCompleteWork_Enqueue", "Test_removeTerminatedWorker", "Test_allowPodStart",
		},
		cases: 43, why: "they set private fields of its workers; OneSync, StaysEnded, OneStatic and Finished in the " +
			"random worlds hold what these promise",
	},
	{
		file: "kubelet_pods_test.go", tests: []string{"TestKubelet_HandlePodCleanups"},
		cases: 14, why: "they list its workers after a cleanup; orphans and pods that come back are tests of their own",
	},
	{
		file: "pleg/generic_test.go", cases: 22,
		why: "TestAPodIsSyncedForTheEventsOfTheKubelet of package conformance relists beside it",
	},
	{
		file: "kuberuntime/kuberuntime_termination_order_test.go", cases: 3,
		why: "they sleep; TestSidecarsStopAfterTheMainContainersInReverse has the order that they want",
	},
	{
		file: "prober/worker_test.go", tests: []string{
			"TestFailureThreshold", "TestSuccessThreshold", "TestStartupProbeSuccessThreshold",
			"TestStartupProbeFailureThreshold",
		},
		cases: 4, taken: 4, ours: []string{"facts_test.go TestAProbeDecidesAsForTheKubelet"},
	},
	{
		file: "prober/worker_test.go", tests: []string{
			"TestDoProbe", "TestDoProbeWithContainerRestartRules", "TestDoProbeWithContainerRestartAllContainers",
			"TestInitialDelay", "TestCleanUp", "TestOnHoldOnLivenessOrStartupCheckFailure",
			"TestResultRunOnLivenessCheckFailure", "TestResultRunOnStartupCheckFailure",
			"TestDoProbe_TerminatedRestartableInitContainerWithRestartPolicyNever",
			"TestDoProbe_TerminatedContainerWithRestartPolicyNever", "TestLivenessProbeDisabledByStarted",
			"TestStartupProbeDisabledByStarted", "TestChangeContainerStatusOnKubeletRestart",
		},
		cases: 43, why: "they call a worker that has a goroutine; ReadyTrue in the random worlds holds what it promises",
	},
	{
		file: "pod_container_deletor_test.go", cases: 7,
		why: "they ask it for one pod; here a sync removes what it needs no more, and keeps two runs of each name",
	},
	{
		file: "config/config_test.go", cases: 13,
		why: "they are about channels; random worlds with late and broken watches hold what becomes of updates",
	},
	// The node.
	{
		file: "nodestatus/setters_test.go", tests: []string{"TestReadyCondition"},
		cases: 11, taken: 4, ours: []string{"nodestatus_test.go TestReadyNamesAllProblems"},
		why: "1 is about cgroups, 2 about a node without a resource, and 4 about transitions, which heartbeat.Sender has",
	},
	{
		file: "kubelet_node_status_test.go", tests: []string{"TestFastStatusUpdateOnce"},
		cases: 5, why: "TestTheFirstReadyIsSearchedForEach100Milliseconds has the facts in virtual time",
	},
	{
		file: "eviction/eviction_manager_test.go", cases: 50,
		why: "pressure is a fault here, which evicts nothing; of it only the admission of pods remains",
	},
	{
		file: "nodeshutdown/nodeshutdown_manager_linux_test.go", cases: 18,
		why: "there is no graceful shutdown",
	},
}

// A leftOut is what else is tested in a file of the tables.
type leftOut struct {
	file  string
	tests []string
	why   string
}

// leftOuts name the tests that are no tables of a part that is here.
var leftOuts = []leftOut{
	{
		file: "kuberuntime/kuberuntime_manager_test.go", tests: []string{
			"TestNewKubeRuntimeManager", "TestVersion", "TestContainerRuntimeType", "TestGetPodStatus",
			"TestStopContainerWithNotFoundError", "TestGetPodStatusWithNotFoundError", "TestGetPods",
			"TestGetPodsSorted", "TestSyncPodWithConvertedPodSysctls", "TestSysctlFiltering",
		},
		why: "they are about the protocol of a runtime, and ours is an interface",
	},
	{
		file: "kuberuntime/kuberuntime_manager_test.go", tests: []string{
			"TestKillPod", "TestSyncPod", "TestPruneInitContainers", "TestSyncPodWithInitContainers",
			"TestSyncPodWithRestartAllContainers", "TestSyncPodNoEventsInSteadyState",
			"TestSyncPodWithSandboxAndDeletedPod", "TestOnPodSandboxReadyInvocation", "TestOnPodSandboxReadyTiming",
		},
		why: "they run its syncs; TestPodsOnAHollowNodeAndOnKubemark runs these beside ours",
	},
	{
		file: "kuberuntime/kuberuntime_manager_test.go", tests: []string{
			"TestComputePodResizeActionForOOMKilledContainer", "TestComputePodResizeActionForOOMKilledInitContainer",
			"TestComputePodResizeActionForOOMKilledSidecarContainer", "TestUpdatePodContainerResources",
			"TestDoPodResizeAction", "TestComputeVolumeResizeAction", "TestDoPodResizeAction_Volumes",
			"TestIsPodResizeInProgress_Volumes", "TestValidatePodResizeAction", "TestIsPodResizeInProgress",
			"TestCmpActuatedAllocated",
		},
		why: "there is no in-place resize",
	},
	{
		file: "kuberuntime/kuberuntime_manager_test.go", tests: []string{
			"TestToKubeContainerImageVolumes", "TestGetImageVolumes", "TestIncrementImageVolumeMetrics",
		},
		why: "of volumes there is only the time that they take",
	},
	{
		file: "kuberuntime/kuberuntime_container_test.go", tests: []string{
			"TestRemoveContainer", "TestRemoveContainer_keepLogs", "TestKillContainer", "TestToKubeContainerStatus",
			"TestToKubeContainerStatusWithResources", "TestToKubeContainerStatusWithUser", "TestLifeCycleHook",
			"TestLifeCycleHookForRestartableInitContainer", "TestStartSpec", "TestRestartCountByLogDir",
			"TestUpdateContainerResources", "TestMakeMountsBindMountOptions",
		},
		why: "they are about the protocol of a runtime, logs and mounts; package cri has tests of hooks",
	},
	{
		file: "kubelet_pods_test.go", tests: []string{
			"TestNodeHostsFileContent", "TestManagedHostsFileContent", "TestRunInContainerNoSuchPod",
			"TestRunInContainer", "TestMakeEnvironmentVariables", "TestGetExec", "TestGetPortForward",
			"TestTruncatePodHostname", "TestGetNonExistentImagePullSecret", "TestParseGetSubIdsOutput",
			"TestResolveRecursiveReadOnly", "TestMakeEnvironmentVariablesWithFileKeyRef",
			"TestGeneratePodHostNameAndDomain", "TestMakemountsSubpathCleanupAccumulation",
			"TestRecordPodLevelResourcesAdmission", "TestMakeMountsBindMountOptions",
		},
		why: "they are about what a process in a container sees, and containers run nothing",
	},
	{
		file: "kubelet_pods_test.go", tests: []string{
			"TestConvertToAPIContainerStatuses", "TestConvertToAPIContainerStatusesWithImageVolumeDigest",
			"Test_generateAPIPodStatus", "Test_generateAPIPodStatusForInPlaceVPAEnabled",
			"TestConvertToAPIContainerStatusesDataRace", "TestConvertToAPIContainerStatusesForResources",
			"TestConvertToAPIContainerStatusesForUser",
		},
		why: "they set private fields of a kubelet; TestPodsOnAHollowNodeAndOnKubemark compares whole statuses",
	},
	{
		file: "kubelet_pods_test.go", tests: []string{
			"TestGenerateAPIPodStatusHostNetworkPodIPs", "TestNodeAddressUpdatesGenerateAPIPodStatusHostNetworkPodIPs",
			"TestGenerateAPIPodStatusPodIPs", "TestSortPodIPs",
		},
		why: "a pod has one IP, of one family",
	},
	{
		file: "status/generate_test.go", tests: []string{
			"TestGeneratePodInitializedCondition", "TestGeneratePodReadyToStartContainersCondition",
			"TestGenerateAllContainersRestartingCondition",
		},
		why: "TestConditionsOfAPodAreThoseOfTheKubelet of package conformance calls the functions on random pods",
	},
	{
		file: "pod_workers_test.go", tests: []string{
			"TestUpdatePodParallel", "TestCompleteWork_PendingUpdate", "TestUpdatePodForRuntimePod",
			"TestUpdatePodForTerminatedRuntimePod", "TestUpdatePodDoesNotForgetSyncPodKill",
			"TestTerminalPhaseTransition", "TestStaticPodExclusion", "TestSyncKnownPods", "TestFakePodWorkers",
			"TestKillPodNowFunc",
		},
		why: "they run its goroutines; OneSync, StaysEnded, OneStatic and Finished in the random worlds hold the rules",
	},
	{
		file: "nodestatus/setters_test.go", tests: []string{
			"TestMemoryPressureCondition", "TestPIDPressureCondition", "TestDiskPressureCondition",
		},
		why: "TestConditionsOfANodeAreThoseOfTheKubelet of package conformance calls the functions",
	},
	{
		file: "nodestatus/setters_test.go", tests: []string{
			"TestNodeAddress", "TestNodeAddress_NoCloudProvider", "TestMachineInfo", "TestVersionInfo", "TestImages",
			"TestVolumesInUse", "TestDaemonEndpoints",
		},
		why: "there is no machine, no image and no endpoint to report",
	},
	{
		file: "kubelet_node_status_test.go", tests: []string{
			"TestUpdateNewNodeStatus", "TestUpdateExistingNodeStatus", "TestUpdateExistingNodeStatusTimeout",
			"TestUpdateNodeStatusWithRuntimeStateError", "TestUpdateNodeStatusError", "TestUpdateNodeStatusWithLease",
			"TestUpdateNodeStatusAndVolumesInUseWithNodeLease", "TestNodeStatusHasChanged",
			"TestUpdateNodeAddresses", "TestIsUpdateStatusPeriodExpired", "TestCalculateDelay",
		},
		why: "heartbeat.Sender writes the status, and has tests of its own",
	},
	{
		file: "kubelet_node_status_test.go", tests: []string{
			"TestRegisterWithApiServer", "TestTryRegisterWithApiServer", "TestRegisterWithApiServerWithTaint",
			"TestUpdateDefaultLabels", "TestUpdateDefaultResources", "TestReconcileHugePageResource",
			"TestReconcileExtendedResource", "TestUpdateNewNodeStatusTooLargeReservation",
		},
		why: "a Node that is there is left as it is",
	},
	{
		file:  "kubelet_node_status_test.go",
		tests: []string{"TestValidateNodeIPParam", "TestSetNodeStatusDeclaredFeatures", "TestNodeRefWithUID"},
		why:   "there is no such flag, feature or Event",
	},
}
